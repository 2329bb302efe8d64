import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { UsageError } from "../../runtime/config-values.ts";
import type { Environment } from "../../runtime/options.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { Action } from "../cli.ts";
import { shells } from "../commands.ts";
import { Failure } from "../failure.ts";
import { oneOf } from "../option-values.ts";

/** The line by which an installed script is known as one of this program. */
const marker =
  "# Completes kubectl latchkey; kubectl latchkey completion install writes this file.";

/** The program with which kubectl completes the words behind `kubectl latchkey`. */
export const kubectlScript = `#!/bin/sh
${marker}
exec kubectl-latchkey __complete "$@"
`;

const scripts: { readonly [Name in (typeof shells)[number]]: string } = {
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

/**
 * Writes the script for kubectl into a directory, or beside `kubectl-latchkey` in PATH; returns its
 * path. Throws a Failure for a file of another program, and a UsageError where it cannot write.
 */
export function installCompletion(directory: string | undefined, env: Environment): string {
  const path = join(directory ?? directoryOfProgram(env), "kubectl_complete-latchkey");
  const draft = `${path}.${process.pid}.draft`;
  try {
    if (!isReplaceable(path))
      throw new Failure(
        `"${path}" was not written by this command and is not changed; ` +
          "remove it, or set --directory",
      );
    writeFileSync(draft, kubectlScript, { flag: "wx" });
    chmodSync(draft, 0o755);
    renameSync(draft, path);
  } catch (error) {
    if (error instanceof Failure) throw error;
    rmSync(draft, { force: true });
    throw new UsageError(
      `"${path}" cannot be written: ${errorCode(error) ?? "unknown error"}; ` +
        "set --directory to a directory of your PATH",
    );
  }
  return path;
}

/** Whether nothing is at a path, or a script of this program. */
function isReplaceable(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true;
  return found.isFile() && readFileSync(path, "utf8").split("\n")[1] === marker;
}

/** The directory from which kubectl runs this plugin. */
function directoryOfProgram(env: Environment): string {
  const directories = (env["PATH"] ?? "").split(delimiter).filter((entry) => entry !== "");
  const found = directories
    .flatMap((entry) =>
      ["kubectl-latchkey", "kubectl-latchkey.exe"].map((name) => join(entry, name)),
    )
    .find(isExecutable);
  if (found !== undefined) return dirname(found);
  throw new UsageError("kubectl-latchkey is not in your PATH; set --directory");
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
