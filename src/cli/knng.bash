# Completion of the knng command for bash. Commands, options, settings and their values are asked of the command itself,
# so they cannot differ.

# _knng_values KNNG SETTING: the words that a setting takes; nothing of numbers and of cuda:N,M,...
_knng_values() {
  "$1" settings 2>/dev/null | sed -n "/^$2=/,/^    takes /s/^    takes //p" | tr ',' '\n' | sed -n 's/^ *\([a-z0-9_]*\)$/\1/p'
}

_knng() {
  local knng=$1 current=$2 command='' option='' key='' word words
  local -a typed
  COMPREPLY=()
  # Readline may or may not break words at "=": here --set metric=co is one word, and --metric=co two, in either case.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    case ${#typed[@]}:$word in
      0:*) typed+=("$word") ;;
      *:=*) typed[-1]+=$word ;;
      *) if [[ ${typed[-1]} == *= ]]; then typed[-1]+=$word; else typed+=("$word"); fi ;;
    esac
  done
  [[ ${#typed[@]} -gt 0 ]] || typed=('')
  local last=${typed[-1]}
  unset 'typed[-1]'
  if [[ $last == -*=* ]]; then
    typed+=("${last%%=*}")
    last=${last#*=}
  fi

  words=$("$knng" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
  for word in "${typed[@]}"; do
    if [[ -n $word && $'\n'$words$'\n' == *$'\n'"$word"$'\n'* ]]; then command=$word; break; fi
  done
  if [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$current")
    return
  fi

  if [[ ${#typed[@]} -gt 0 ]]; then option=${typed[-1]}; fi
  case $option in
    -m | --metric) key=metric ;;
    --selector | --engine | --device | --precision | --self | --value) key=${option#--} ;;
    --set)
      if [[ $last == *=* ]]; then
        key=${last%%=*}
        last=${last#*=}
      else
        words=$("$knng" settings 2>/dev/null | sed -n 's/^\([a-z_]*\)=.*/\1/p')
        mapfile -t COMPREPLY < <(compgen -S = -W "$words" -- "$last")
        compopt -o nospace
        return
      fi
      ;;
    -k | -p | --threads | --max-memory | --max-device-memory | --row | --rows | --queries) return ;;
  esac
  if [[ -n $key ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_knng_values "$knng" "$key")" -- "$last")
    # Where the word is not broken at "=", what stands before the value is part of what is replaced.
    if [[ $current == *=* ]]; then COMPREPLY=("${COMPREPLY[@]/#/${current%"$last"}}"); fi
    return
  fi

  if [[ $current == -* ]]; then
    words=$("$knng" "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,')
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi
  case $command in
    devices | settings) ;;
    *) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$last") ;;
  esac
}
complete -F _knng knng
