import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { debianPrograms } from "../support/debian-programs.ts";
import { runConfig } from "../support/image.ts";

/** Why no container of the image can run on this machine. */
export interface NoSandbox {
  readonly missing: string;
}

/** The path of bubblewrap: the installed one, or that of the Debian package. */
export async function findBubblewrap(report: (line: string) => void): Promise<string | NoSandbox> {
  try {
    const installed = "/usr/bin/bwrap";
    const program = existsSync(installed)
      ? installed
      : join(await debianPrograms(["bubblewrap"], report), installed);
    execFileSync(program, ["--ro-bind", "/", "/", "--unshare-user", "true"], { stdio: "pipe" });
    return program;
  } catch (error) {
    return { missing: String(error) };
  }
}

/**
 * The words that run a program in the unpacked image as a pod of `config` does: a read-only root,
 * the user of the image, no capabilities, no way to get any. It has the network of this machine.
 * Of this machine's files it sees the directory `visible` below /tmp, read-only.
 */
export function inImage(bubblewrap: string, root: string, visible: string): readonly string[] {
  const [user = "", group = ""] = runConfig().User.split(":");
  return [
    ...[bubblewrap, "--die-with-parent", "--new-session", "--chdir", "/"],
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
    ...["--uid", user, "--gid", group, "--cap-drop", "ALL"],
    ...["--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev"],
    ...["--tmpfs", "/tmp", "--ro-bind", visible, visible, "--remount-ro", "/tmp", "--"],
  ];
}
