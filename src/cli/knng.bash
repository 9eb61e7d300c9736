# Completion of the knng command for bash. Option names are asked of the command itself, so they cannot differ.

_knng() {
  local current=$2 previous=$3 command='' word
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      build | query | info | check | estimate | devices | settings) command=$word; break ;;
    esac
  done

  if [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'build query info check estimate devices settings --help --version' -- "$current")
    return
  fi

  local key=''
  case $previous in
    -m | --metric) key=metric ;;
    --selector | --engine | --device | --precision | --self | --value) key=${previous#--} ;;
    --set)
      mapfile -t COMPREPLY < <(compgen -S = -W "$("$1" settings 2>/dev/null | sed -n 's/^\([a-z_]*\)=.*/\1/p')" -- "$current")
      compopt -o nospace
      return
      ;;
    -k | -p | --threads | --max-memory | --max-device-memory | --rows | --queries) return ;;
  esac
  if [[ -n $key ]]; then
    local values
    values=$("$1" settings 2>/dev/null | sed -n "/^$key=/,/^    takes /s/^    takes //p" | tr -d ',')
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    return
  fi

  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$1" "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,')" -- "$current")
    return
  fi
  case $command in
    devices | settings) ;;
    *) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}
complete -F _knng knng
