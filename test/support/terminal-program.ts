import { spawn, spawnSync } from "node:child_process";
import { eventually } from "./eventually.ts";

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

/** Whether a program is on PATH; reports that its tests are skipped if it is not. */
export function isInstalled(program: string): boolean {
  const isThere = [program, "script"].every(
    (name) => spawnSync("sh", ["-c", `command -v ${name}`]).status === 0,
  );
  if (!isThere) process.stderr.write(`tests with ${program} are skipped: it is not installed\n`);
  return isThere;
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
