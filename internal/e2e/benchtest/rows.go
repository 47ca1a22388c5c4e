package benchtest

import "slices"

// A Row is a job of the table. Several rows of the table may state aims for one job.
type Row struct {
	// Name is the name of its samples.
	Name string
	// Package and Benchmark are the folder and the function that measure it.
	Package, Benchmark string
	// Job describes it for users, and Limit the work that it is compared with.
	Job, Limit string
	// Floor describes the parts of the job that no program can leave out. It is for rows
	// whose aim may be out of reach.
	Floor string
	// Needs is what the benchmark needs besides Go. Without it, the benchmark is skipped.
	Needs string
	// InProcess says that the benchmark calls packages of xfn in its own process, so that
	// it cannot measure another xfn.
	InProcess bool
	Aims      []Aim
}

// An Aim is a bound: Factor times the figure of the limit, plus Plus.
type Aim struct {
	// Peak says that the figures are peak memories in bytes, and not durations in seconds.
	Peak bool
	// Factor is 0 for an absolute bound.
	Factor, Plus float64
	// Faster is an aim for a limit that is slower: its figure is at least Faster times the measured one.
	Faster float64
}

func times(factor float64) Aim         { return Aim{Factor: factor} }
func within(seconds float64) Aim       { return Aim{Plus: seconds} }
func faster(factor float64) Aim        { return Aim{Faster: factor} }
func peak(mebibytes float64) Aim       { return Aim{Peak: true, Plus: mebibytes * (1 << 20)} }
func peakTimes(factor float64) Aim     { return Aim{Peak: true, Factor: factor} }
func timesPlus(f, seconds float64) Aim { return Aim{Factor: f, Plus: seconds} }

const (
	goBuild      = "`go build` to a kept path"
	oneCore      = "the same on one core"
	eachCore     = "the same on one core, for each core at once, divided by their number"
	emptyProgram = "an empty Go program"
	docker       = "a Docker engine and its command"
	bareProcess  = "start of the bare process, then a render by it"
	inNamespaces = "the limit, and `xfn version` in new namespaces"
	onlyImports  = "a program that only imports the libraries of xfn"
	// deflated is the work of a package: its digests, and its compression.
	deflated      = "hashing both ways and deflating in parallel"
	thenDeflated  = "the limit, then " + deflated
	decoded       = "text/template's Execute, and decoding of its YAML"
	waitedDecoded = "waiting for 2 ms, " + decoded
)

// Rows returns the table of `make bench`.
func Rows() []Row {
	return slices.Concat(
		in("internal/e2e", "BenchmarkRenderSource",
			Row{Name: "RenderSource", Job: "`xfn render` of a function's source without a change", Limit: "render by a running function", Aims: []Aim{timesPlus(1.1, 0.05)}},
			Row{Name: "RenderSourceChanged", Job: "the same after a change of one line", Limit: goBuild, Aims: []Aim{times(1.1)}}),
		in("internal/e2e", "BenchmarkPackage",
			Row{Name: "PackageOne", Job: "package of one platform after a change of one line", Limit: goBuild, Floor: thenDeflated, Aims: []Aim{times(1.1)}},
			Row{Name: "PackageTwo", Job: "the same of two platforms", Limit: "two `go build` at once", Floor: thenDeflated, Aims: []Aim{times(1.1)}}),
		in("internal/e2e", "BenchmarkRegistry",
			Row{Name: "Push", Job: "push of 550 MiB", Limit: "a plain upload", Aims: []Aim{times(1.2), peak(64)}},
			Row{Name: "PushAgain", Job: "push of the same again", Aims: []Aim{within(0.1)}},
			Row{Name: "Pull", Job: "pull of 550 MiB", Limit: "a plain GET to nowhere", Aims: []Aim{times(1.3), peak(64)}},
			Row{Name: "PullHashed", Job: "the same pull", Limit: "GETs of all layers at once, with SHA-256", Floor: "the limit, into synced files", Aims: []Aim{times(1.3)}},
			Row{Name: "Copy", Job: "`xpkg copy` of 550 MiB between two registries", Limit: "a plain GET piped into a plain upload", Aims: []Aim{times(1.3), peak(64)}}),
		in("internal/e2e", "BenchmarkRenderDocker",
			Row{Name: "RenderDocker", Needs: docker, Job: "render through Docker, warm", Limit: "`docker run` to its first answer", Floor: "the limit, then `docker rm -f`", Aims: []Aim{times(1)}}),
		in("internal/e2e", "BenchmarkSandbox",
			Row{Name: "Sandbox", Needs: "root", Job: "render in a sandbox as root, warm", Limit: bareProcess, Floor: inNamespaces, Aims: []Aim{timesPlus(1, 0.006)}},
			Row{Name: "SandboxUser", Needs: "root", Job: "the same as an ordinary user", Limit: bareProcess, Floor: inNamespaces, Aims: []Aim{timesPlus(1, 0.006)}}),
		in("internal/builtin/gotemplating", "BenchmarkHundred",
			Row{Name: "GoTemplating", InProcess: true, Job: "go-templating, 100 resources", Limit: decoded, Aims: []Aim{times(1.5)}}),
		in("internal/e2e", "BenchmarkRenderMany",
			Row{Name: "RenderMany", Job: "10,000 XRs, Patch & Transform and auto-ready", Limit: oneCore, Floor: eachCore, Aims: []Aim{faster(1.8)}},
			Row{Name: "RenderLinear", Job: "20,000 XRs", Limit: "2,000 XRs", Aims: []Aim{times(10.5), peakTimes(1.25)}}),
		in("internal/e2e", "BenchmarkValidate",
			Row{Name: "Validate", Job: "`validate` of 10,000 resources with CEL", Floor: "decoding, schemas and rules with the libraries of Kubernetes", Aims: []Aim{within(1.5)}},
			Row{Name: "ValidateCores", Job: "`validate` of 10,000 resources with CEL", Limit: oneCore, Floor: eachCore, Aims: []Aim{faster(1.8)}}),
		in("internal/e2e", "BenchmarkSuite",
			Row{Name: "Suite", Job: "1,000 suite cases", Floor: "a render of the same XRs", Aims: []Aim{within(0.2)}},
			Row{Name: "SuiteLinear", Job: "10,000 suite cases", Limit: "1,000 cases", Aims: []Aim{times(10.5), peakTimes(1.25)}},
			Row{Name: "Coverage", Job: "1,000 suite cases with coverage", Limit: "the same without coverage", Aims: []Aim{times(1.15)}}),
		in("internal/suite", "BenchmarkMutants",
			Row{Name: "Mutants", InProcess: true, Job: "1,000 mutants of the example in the docs", Aims: []Aim{within(10)}}),
		in("internal/e2e", "BenchmarkStart",
			Row{Name: "Help", Job: "help of `xfn`", Limit: emptyProgram, Floor: onlyImports, Aims: []Aim{times(6)}},
			Row{Name: "Version", Job: "`xfn version`", Limit: emptyProgram, Floor: onlyImports, Aims: []Aim{times(6)}}),
		in("internal/e2e", "BenchmarkBuild",
			Row{Name: "BuildEngine", Needs: docker, Job: "build from a Docker engine, 1 GiB", Limit: "the engine's own export", Floor: thenDeflated, Aims: []Aim{times(1.1), peak(64)}},
			Row{Name: "BuildTarball", Job: "build from a tarball, 1 GiB", Limit: deflated, Aims: []Aim{times(1.3), peak(64)}}),
		in("internal/e2e", "BenchmarkDefinitions",
			Row{Name: "Definitions", Job: "YAML package of 17 MiB, 2,700 XRDs", Limit: "parsing the same YAML once", Floor: "parsing the YAML, and writing it again", Aims: []Aim{times(1.5), peak(150)}}),
		in("internal/e2e", "BenchmarkDev",
			Row{Name: "DevTemplate", Job: "`xfn dev`, 100 resources: save of a template to new render", Floor: waitedDecoded, Aims: []Aim{within(0.005)}},
			Row{Name: "DevComposition", Job: "the same for a Composition", Floor: waitedDecoded, Aims: []Aim{within(0.005)}}),
		in("internal/e2e", "BenchmarkProject",
			Row{Name: "ProjectBuild", Job: "`project build`, two go-templating functions, warm", Aims: []Aim{within(0.15)}},
			Row{Name: "ProjectRender", Job: "render of an example of the project", Aims: []Aim{within(0.04)}},
			Row{Name: "ProjectPushAgain", Job: "`project push` of the same again", Aims: []Aim{within(0.1)}}),
		in("internal/e2e", "BenchmarkProjectGo",
			Row{Name: "ProjectGo", Job: "`project build` with a function in Go after a change", Limit: "two `go build` at once", Floor: thenDeflated, Aims: []Aim{times(1.15)}}),
		in("internal/e2e", "BenchmarkTypeScript",
			Row{Name: "TypeScript", Needs: "a registry of npm", Job: "TypeScript function, 100 packages, two platforms, warm", Aims: []Aim{within(1.5), peak(200)}},
			Row{Name: "TypeScriptChanged", Needs: "a registry of npm", Job: "the same after a change of source", Aims: []Aim{within(0.3)}}),
		in("internal/e2e", "BenchmarkPython",
			Row{Name: "Python", Needs: "root and debootstrap", Job: "Python function with grpcio and protobuf, two platforms, warm", Aims: []Aim{within(2), peak(200)}},
			Row{Name: "PythonChanged", Needs: "root and debootstrap", Job: "the same after a change of source", Aims: []Aim{within(0.3)}}),
	)
}

// in sets the package and the benchmark of rows.
func in(folder, benchmark string, rows ...Row) []Row {
	for i := range rows {
		rows[i].Package, rows[i].Benchmark = folder, benchmark
	}
	return rows
}

func find(name string) (Row, bool) {
	rows := Rows()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}
