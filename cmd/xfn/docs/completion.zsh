#compdef %[1]s
_xfn() {
  local -a found
  found=("${(@f)$(%[1]s __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _xfn %[1]s
