import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { constants, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { keyOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import { encodedValue, plainValues } from "../../tokens/shared-values.ts";
import type { Action, Cli, ConnectedCli } from "../cli.ts";
import {
  applied,
  changeBetween,
  conflictingKeys,
  editorHead,
  editorText,
  parseEdited,
  type ValuesChange,
  withoutHead,
} from "./edited-values.ts";
import { Failure, sentenceOf } from "../failure.ts";
import { doneText } from "../output.ts";
import { applierWarnings } from "./field-owners.ts";
import { checkOwnData } from "./followed.ts";
import { preconditions } from "../connection/cluster.ts";

const resource = resources.sharedSecrets;

/** `kubectl latchkey edit`. */
export const editValues: Action<"edit"> = async ({ flags, args: [name = ""] }, cli) => {
  const shellProblem = missingShell(process.platform);
  if (shellProblem !== undefined) throw new Failure(shellProblem);
  const cluster = await cli.connect(flags);
  const object = await cluster.get(resource, { namespace: cluster.choice.namespace, name });
  checkOwnData(object, ["spec.data"]);
  const parent = temporaryDirectory(cli.env);
  removeLeftovers(parent);
  const directory = mkdtempSync(join(parent, `${ownPrefix()}${process.pid}-`));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  const session: EditSession = { editor: undefined };
  const end = (signal: NodeJS.Signals): void => {
    // The terminal sends Ctrl-C to the editor, too, which decides what it means.
    if (signal === "SIGINT" && session.editor !== undefined) return;
    session.editor?.kill(signal);
    remove();
    process.exit(128 + (constants.signals[signal] ?? 0));
  };
  for (const signal of endings) process.on(signal, end);
  try {
    await editIn(join(directory, `${name}.yaml`), name, { cluster, cli, session });
  } finally {
    remove();
    for (const signal of endings) process.off(signal, end);
  }
};

/** Why no editor can be started; undefined on a platform with a POSIX shell. */
export function missingShell(platform: NodeJS.Platform): string | undefined {
  return platform === "win32"
    ? "edit starts the editor with /bin/sh, which Windows does not have; " +
        "use kubectl latchkey get and set, or run edit in WSL"
    : undefined;
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** What the directories of this program on this machine begin with, before the process ID. */
function ownPrefix(): string {
  return `latchkey-edit-${hostname()}-`;
}

/** Removes the values that an earlier run of this user has left behind, which was killed. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(ownPrefix())) continue;
    const [pid = ""] = name.slice(ownPrefix().length).split("-");
    const path = join(parent, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true && found.uid === process.getuid?.() && !isRunning(pid))
      rmSync(path, { recursive: true, force: true });
  }
}

function isRunning(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

/** The editor that runs. */
interface EditSession {
  editor: ChildProcess | undefined;
}

/** A directory in memory where there is one, so that the values do not reach a disk. */
function temporaryDirectory(env: Cli["env"]): string {
  const runtime = env["XDG_RUNTIME_DIR"] ?? "";
  return runtime !== "" && existsSync(runtime) ? runtime : tmpdir();
}

interface Editing extends ConnectedCli {
  readonly session: EditSession;
}

/** An editor that is a program could make the same mistake for ever. */
const mostEdits = 25;

/**
 * Opens the editor until the result is stored, unchanged or empty; rejects with a Failure if it is
 * unchanged after the API server or the client has refused it.
 */
async function editIn(path: string, name: string, deps: Editing): Promise<void> {
  const { cluster, cli } = deps;
  const ref = { namespace: cluster.choice.namespace, name };
  const { terminal } = cli;
  let object = await cluster.get(resource, ref);
  let shown = editorText(plainValues(object), { name, problem: undefined });
  // After a conflict, the file has both changes, and is stored when the user saves it.
  let isMerged = false;
  let conflicted: ValuesChange | undefined;
  let problem: string | undefined;
  for (let edits = 0; edits < mostEdits; edits += 1) {
    writeFileSync(path, shown, { mode: 0o600 });
    await openEditor(path, deps);
    const text = readFileSync(path, "utf8");
    const body = withoutHead(text);
    if (body.trim() === "" || (!isMerged && body === withoutHead(shown))) {
      if (problem !== undefined)
        throw new Failure(`SharedSecret "${keyOf(ref)}" is not changed: ${problem}`);
      return terminal.print(doneText(resource, ref, "unchanged"));
    }
    const edited = parseEdited(text);
    problem =
      typeof edited === "string"
        ? edited
        : await stored(changeBetween(plainValues(object), edited));
    if (problem === undefined) return terminal.print(doneText(resource, ref, "edited"));
    terminal.say(problem);
    isMerged = conflicted !== undefined;
    shown =
      conflicted === undefined
        ? `${editorHead(name, problem)}${body}`
        : editorText(applied(plainValues(object), conflicted), { name, problem });
    conflicted = undefined;
  }
  throw new Failure(`the editor made ${mostEdits} changes that are refused; nothing is stored`);

  /** Stores a change; returns a problem if the user has to look at it again. */
  async function stored(change: ValuesChange): Promise<string | undefined> {
    try {
      await cluster.patch(resource, ref, { body: patchOf(object, change) });
      const keys = [...change.set.keys(), ...change.removed];
      for (const warning of applierWarnings(object, keys)) terminal.say(warning);
      return undefined;
    } catch (error) {
      if (isKubeError(error, "Invalid", "BadRequest")) return sentenceOf(error);
      if (!isKubeError(error, "Conflict")) throw error;
    }
    const before = plainValues(object);
    object = await cluster.get(resource, ref);
    const others = changeBetween(before, plainValues(object));
    const both = conflictingKeys(change, others);
    if (both.length === 0) return stored(change);
    conflicted = change;
    return (
      `${both.join(", ")} changed on the server meanwhile; ` +
      "save again to replace it, or empty the file"
    );
  }
}

function patchOf(object: unknown, { set, removed }: ValuesChange) {
  const values = [...set].map(([key, bytes]) => [key, encodedValue(bytes)] as const);
  const data = Object.fromEntries([...values, ...removed.map((key) => [key, null] as const)]);
  return { metadata: preconditions(object), spec: { data } };
}

/** Runs the editor of the user. */
function openEditor(path: string, { cli: { env }, session }: Editing): Promise<void> {
  const editor = env["KUBE_EDITOR"] || env["VISUAL"] || env["EDITOR"] || "vi";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // As in kubectl, the variable may have arguments; the path is not part of the shell's text.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit", env });
  session.editor = child;
  child.once("error", (error) =>
    reject(new Failure(`the editor cannot be started: ${errorCode(error) ?? "unknown error"}`)),
  );
  child.once("exit", (code, signal) =>
    code === 0
      ? resolve()
      : reject(
          new Failure(`the editor failed with ${signal ?? `exit code ${code}`}; nothing is stored`),
        ),
  );
  return promise.finally(() => {
    session.editor = undefined;
  });
}
