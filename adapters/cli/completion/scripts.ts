/**
 * Scripts by which shells complete lines. They ask `fleetwright complete` what may stand where the cursor is, and run nothing of what it
 * answers.
 */

/** Shells that can be completed in. */
export const shellNames = ["bash", "zsh", "fish"] as const;

/** One of {@link shellNames}. */
export type ShellName = (typeof shellNames)[number];

const bash = `# Completion of fleetwright for bash: source <(fleetwright completion bash)
_fleetwright() {
  # bash parts words at ":" and "=" as well; here they are whole again, as they were typed.
  local rest=\${COMP_LINE:0:COMP_POINT} part line kind="" at
  local -a words=()
  for ((at = 0; at <= COMP_CWORD; at++)); do
    part=\${COMP_WORDS[at]}
    if ((at == 0)) || [[ $rest == [[:space:]]* ]]; then
      rest=\${rest#"\${rest%%[![:space:]]*}"}
      words+=("")
    fi
    ((at == COMP_CWORD)) && part=$rest
    words[\${#words[@]} - 1]+=$part
    rest=\${rest#"$part"}
  done
  local kept=$((\${#words[\${#words[@]} - 1]} - \${#2}))
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
    else
      COMPREPLY+=("$line")
    fi
  done < <(command fleetwright complete bash --kept "$kept" -- "\${words[@]:1}" 2>/dev/null </dev/null)
  if ((\${#COMPREPLY[@]} == 0)); then
    case $kind in
      files) compopt -o default ;;
      folders) compopt -o dirnames ;;
    esac
  elif ((\${#COMPREPLY[@]} == 1)) && [[ \${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace
  fi
}
complete -F _fleetwright fleetwright
`;

const zsh = `#compdef fleetwright
# Completion of fleetwright for zsh: source <(fleetwright completion zsh), or a file _fleetwright in a folder of $fpath.
_fleetwright() {
  local -a lines found shown
  local line
  lines=("\${(@f)$(command fleetwright complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    [[ -n $line ]] || continue
    found+=("\${line%%$'\\t'*}")
    if [[ $line == *$'\\t'* ]]; then
      shown+=("\${line%%$'\\t'*} -- \${line#*$'\\t'}")
    else
      shown+=("$line")
    fi
  done
  case $lines[1] in
    files) compset -P '--*='; _files ;;
    folders) compset -P '--*='; _files -/ ;;
  esac
  (( $#found )) && compadd -l -d shown -a found
}
if [[ $funcstack[1] == _fleetwright ]]; then
  _fleetwright "$@"
else
  compdef _fleetwright fleetwright
fi
`;

const fish = `# Completion of fleetwright for fish: fleetwright completion fish | source
function __fleetwright_complete
    set -l line (commandline -opc)
    set -l typed (commandline -ct | string collect)
    set -l answer (command fleetwright complete fish -- $line[2..-1] "$typed" 2>/dev/null </dev/null)
    set -l before (string match -r '^--[^=]*=' -- "$typed")
    set -l path (string replace -r '^--[^=]*=' '' -- "$typed")
    set -l found $answer[2..-1]
    switch "$answer[1]"
        case files
            set found "$before"(__fish_complete_path "$path")
        case folders
            set found "$before"(__fish_complete_directories "$path" "")
    end
    for each in $found
        printf '%s\\n' $each
    end
end
complete -c fleetwright -f -a '(__fleetwright_complete)'
`;

/** The script of each shell. */
export const completionScripts: Readonly<Record<ShellName, string>> = { bash, zsh, fish };
