function __xfn_complete
  set -l words (commandline -opc) (commandline -ct)
  %[1]s __complete -- $words[2..-1] 2>/dev/null
end
complete -c %[1]s -a '(__xfn_complete)'
