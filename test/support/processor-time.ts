import { readFileSync } from "node:fs";

/** Linux reports times in hundredths of a second on every architecture (time(7), USER_HZ). */
const ticksPerSecond = 100;

/** Processor seconds that a running process has used; undefined if Linux does not report them. */
export function processorSeconds(pid: number): number | undefined {
  try {
    return processorSecondsIn(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** User and system time in the text of /proc/<pid>/stat (proc_pid_stat(5)), in seconds. */
export function processorSecondsIn(stat: string): number {
  // The second field is the name of the program, which may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
