import { spawn, spawnSync } from "node:child_process";
import { eventually } from "./eventually.ts";
import type { Missing } from "./prepared.ts";

/** A program on a terminal of its own. */
export interface TerminalProgram {
  /** Sends key strokes. */
  type(text: string): void;
  /** Waits until the terminal shows a text that follows what it showed last. */
  shows(text: string): Promise<void>;
  /** Everything that it showed. */
  output(): string;
  close(): void;
}

/** The name of a program that is on PATH beside script of util-linux, or which is not. */
export function installed(program: string): string | Missing {
  const isThere = (name: string) => spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
  const absent = [program, "script"].find((name) => !isThere(name));
  return absent === undefined ? program : { missing: `${absent} is not installed` };
}

/** Starts a program on a terminal, which `script` of util-linux makes. */
export function startOnTerminal(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): TerminalProgram {
  const child = spawn("script", ["-qfec", words.join(" "), "/dev/null"], { env, stdio: "pipe" });
  let output = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stdin.on("error", () => {});
  return {
    type: (text) => void child.stdin.write(text),
    async shows(text) {
      const found = () => output.indexOf(text, seen) + 1 || undefined;
      const at = await eventually(found, {
        what: `the terminal to show ${JSON.stringify(text)} after ${JSON.stringify(output.slice(seen))}`,
      });
      seen = at - 1 + text.length;
    },
    output: () => output,
    close: () => void child.kill("SIGHUP"),
  };
}
