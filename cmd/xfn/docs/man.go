package docs

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Man returns a manual page for the program and for each command.
func Man(app *kong.Application) []File {
	root := commandOf(app.Node)
	files := []File{{program + ".1", manPage(root)}}
	for _, c := range root.Children {
		files = append(files, File{manName(c) + ".1", manPage(c)})
		for _, sub := range c.Children {
			files = append(files, File{manName(sub) + ".1", manPage(sub)})
		}
	}
	return files
}

func manName(c command) string { return strings.ReplaceAll(c.Path, " ", "-") }

func manPage(c command) string {
	var b strings.Builder
	summary := c.Help
	if summary == "" {
		summary = "build, render, test and push Crossplane functions"
	}
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(manName(c)), program, roff(manName(c)), roff(strings.TrimSuffix(summary, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n.SH DESCRIPTION\n", roff(c.Usage))
	for _, d := range c.Detail {
		if d.Code {
			fmt.Fprintf(&b, ".PP\n.RS 4\n.EX\n%s\n.EE\n.RE\n", roff(d.Text))
		} else {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(d.Text))
		}
	}
	entries(&b, "ARGUMENTS", c.Args)
	for _, g := range c.Groups {
		title := "OPTIONS"
		if g.Title != "" {
			title += ": " + strings.ToUpper(g.Title)
		}
		entries(&b, title, g.Flags)
	}
	var commands []entry
	for _, sub := range c.Children {
		commands = append(commands, entry{sub.Path, sub.Help})
	}
	entries(&b, "COMMANDS", commands)
	if c.Path == program {
		var codes, variables []entry
		for _, e := range ExitCodes() {
			codes = append(codes, entry{e.Code, e.Meaning})
		}
		for _, e := range Environment() {
			variables = append(variables, entry{e.Name, e.Meaning})
		}
		entries(&b, "EXIT STATUS", codes)
		entries(&b, "ENVIRONMENT", variables)
		return b.String()
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", program)
	return b.String()
}

func entries(b *strings.Builder, title string, all []entry) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, e := range all {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(e.Term), roff(e.Text))
	}
}

// roff escapes a text: backslashes, dashes, and dots and quotes that begin a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
