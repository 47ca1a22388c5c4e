_xfn() {
  local IFS=$'\n'
  COMPREPLY=($(%[1]s __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -o bashdefault -F _xfn %[1]s
