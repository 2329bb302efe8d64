import { UsageError } from "../../../runtime/config-values.ts";
import type { Action } from "../cli.ts";
import { installCompletion, kubectlScript } from "./install-completion.ts";
import { type Shell, shells } from "./shells.ts";
import { oneOf } from "../option-values.ts";

const scripts: { readonly [Name in Shell]: string } = {
  kubectl: kubectlScript,
  bash: `# Load it with: source <(kubectl latchkey completion bash)
_kubectl_latchkey() {
  local IFS=$'\\n' words line word quoting=$'[\\\\\\\\\\'"]'
  words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  words=("\${words[@]//$quoting/}")
  COMPREPLY=()
  while read -r line; do
    case $line in
      :0) compopt -o default -o filenames 2>/dev/null ;;
      :6) compopt -o nospace 2>/dev/null ;;
      :4) ;;
      *) printf -v word %q "\${line%%$'\\t'*}" && COMPREPLY+=("$word") ;;
    esac
  done < <(kubectl-latchkey __complete "\${words[@]}" 2>/dev/null)
}
complete -F _kubectl_latchkey kubectl-latchkey
`,
  zsh: `#compdef kubectl-latchkey
# Load it with: source <(kubectl latchkey completion zsh)
_kubectl_latchkey() {
  local -a proposals space
  local line
  for line in "\${(@f)$(kubectl-latchkey __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :0) _files ;;
      :6) space=(-S '') ;;
      :*) ;;
      *) proposals+=("\${\${line//:/\\\\:}/$'\\t'/:}") ;;
    esac
  done
  _describe latchkey proposals "\${space[@]}"
}
compdef _kubectl_latchkey kubectl-latchkey
`,
  fish: `# Load it with: kubectl latchkey completion fish | source
function __kubectl_latchkey
  set -l words (commandline -opc)[2..] (commandline -ct)
  kubectl-latchkey __complete $words 2>/dev/null | string match -v -r '^:\\d+$'
end
complete -c kubectl-latchkey -f -a '(__kubectl_latchkey)'
`,
};

/** `kubectl latchkey completion`. */
export const printCompletionScript: Action<"completion"> = async (
  { args: [name = ""], flags: { directory } },
  { terminal, env },
) => {
  if (name === "install") {
    const path = installCompletion(directory, env);
    return terminal.say(`wrote ${path}; kubectl completes "kubectl latchkey" with it`);
  }
  const shell = oneOf(shells)(name, "SHELL");
  if (directory !== undefined) throw new UsageError("--directory is for completion install");
  terminal.print(scripts[shell]);
};
