package docs

import (
	"cmp"
	"fmt"
	"strings"
)

func manPages(c command) []file {
	files := []file{{manName(c) + ".1", manPage(c)}}
	for _, sub := range c.Children {
		files = append(files, manPages(sub)...)
	}
	return files
}

func manName(c command) string { return strings.ReplaceAll(c.Path, " ", "-") }

func manPage(c command) string {
	var b strings.Builder
	summary := cmp.Or(c.Help, "build, render, test and push Crossplane functions")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(manName(c)), program, roff(manName(c)), roff(strings.TrimSuffix(summary, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n.SH DESCRIPTION\n", roff(c.Usage))
	for _, d := range c.Detail {
		if d.Code {
			fmt.Fprintf(&b, ".PP\n.RS 4\n.EX\n%s\n.EE\n.RE\n", roff(d.Text))
		} else {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(d.Text))
		}
	}
	manEntries(&b, "ARGUMENTS", c.Args)
	for _, g := range c.Groups {
		title := "OPTIONS"
		if g.Title != "" {
			title += ": " + strings.ToUpper(g.Title)
		}
		manEntries(&b, title, g.Flags)
	}
	var commands []entry
	for _, sub := range c.Children {
		commands = append(commands, entry{sub.Path, sub.Help})
	}
	manEntries(&b, "COMMANDS", commands)
	if c.Path != program {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", program)
		return b.String()
	}
	var variables []entry
	for _, v := range Environment() {
		variables = append(variables, entry{v.Name, v.Meaning})
	}
	manEntries(&b, "EXIT STATUS", exitCodes())
	manEntries(&b, "ENVIRONMENT", variables)
	return b.String()
}

func manEntries(b *strings.Builder, title string, all []entry) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, e := range all {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(e.Term), roff(e.Text))
	}
}

// roff escapes backslashes, dashes, and dots and quotes at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "", "\n.", "\n\\&.", "\n'", "\n\\&'").Replace("\n" + text)
	return text[1:]
}
