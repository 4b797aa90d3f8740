// Writes the command tree of kubectl as the tables that src/kubectl/commands.txt and help.txt are: which commands there
// are, which flags they take, and what their help says. Run it in src/kubectl with the go.mod of a module that requires
// k8s.io/kubectl v0.37.2.
package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
)

var escape = strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t")

var flagRows []string
var commandRows, usageRows, helpRows []string

// One row for each distinct flag; commands name them.
var ids = map[string]string{}
var named = map[string]int{}

func id(f *pflag.Flag) string {
	row := strings.Join([]string{f.Shorthand, f.Value.Type(), escape.Replace(strings.Replace(f.DefValue, os.Getenv("HOME")+"/", "$HOME/", 1)), f.NoOptDefVal, fmt.Sprint(f.Hidden),
		escape.Replace(f.Deprecated)}, "\t")
	usage := escape.Replace(f.Usage)
	key := f.Name + "\t" + row + "\t" + usage
	if ids[key] == "" {
		named[f.Name]++
		ids[key] = f.Name
		if n := named[f.Name]; n > 1 {
			ids[key] = fmt.Sprintf("%s/%d", f.Name, n)
		}
		flagRows = append(flagRows, "flag\t"+ids[key]+"\t"+row)
		usageRows = append(usageRows, "flag\t"+ids[key]+"\t"+usage)
	}
	return ids[key]
}

var usageLine = regexp.MustCompile(`(?m)^Usage:\n  kubectl ?(.*)$`)

func walk(c *cobra.Command) {
	path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "kubectl"), " ")
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	var flags, required []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		// A group's persistent flags are those of every command again.
		if f.Name == "help" || c.HasParent() && c.PersistentFlags().Lookup(f.Name) != nil {
			return
		}
		flags = append(flags, id(f))
		if slices.Contains(f.Annotations[cobra.BashCompOneRequiredFlag], "true") {
			required = append(required, f.Name)
		}
	})
	c.Help()
	text := out.String()
	h := fnv.New64a()
	h.Write([]byte(text))
	use := ""
	if m := usageLine.FindStringSubmatch(text); m != nil {
		use = strings.TrimPrefix(strings.TrimPrefix(m[1], path), " ")
	}
	to := func(rows *[]string) func(name, value string) {
		*rows = append(*rows, "command\t"+path)
		return func(name, value string) {
			if value != "" {
				*rows = append(*rows, name+"\t"+escape.Replace(value))
			}
		}
	}
	row, help := to(&commandRows), to(&helpRows)
	row("aliases", strings.Join(c.Aliases, " "))
	row("suggest", strings.Join(c.SuggestFor, " "))
	row("short", c.Short)
	if !c.Runnable() && !c.HasSubCommands() {
		help("long", text)
	} else if c.Long != c.Short {
		help("long", c.Long)
	}
	row("use", use)
	help("example", c.Example)
	row("words", strings.Join(c.ValidArgs, " "))
	row("flags", strings.Join(flags, " "))
	row("required", strings.Join(required, " "))
	help("help", fmt.Sprintf("%d %016x", len(text), h.Sum64()))
}

// Commands in the order in which they were added, which is that of suggestions.
func order(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, s := range c.Commands() {
		all = append(all, order(s)...)
	}
	return all
}

func main() {
	os.Args = []string{"kubectl"}
	cobra.EnableCommandSorting = false
	root := cmd.NewDefaultKubectlCommand()
	logs.AddFlags(root.PersistentFlags())
	all := order(root)
	// Help lists them by name.
	cobra.EnableCommandSorting = true
	for _, c := range all {
		walk(c)
	}
	write("commands.txt", "# The command tree of kubectl v1.37.2, made by tools/kubectl-commands: flags (name, shorthand, type, default,\n"+
		"# value when given bare, hidden, deprecation), then commands.\n", flagRows, commandRows)
	write("help.txt", "# What kubectl v1.37.2 says in the help of its flags, then of its commands, made by tools/kubectl-commands. `help` is\n"+
		"# the length and FNV-1a of the whole.\n", usageRows, helpRows)
}

func write(name, head string, tables ...[]string) {
	text := head
	for _, rows := range tables {
		text += strings.Join(rows, "\n") + "\n"
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		panic(err)
	}
}
