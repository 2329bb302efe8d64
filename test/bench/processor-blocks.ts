import { appendFileSync } from "node:fs";

/**
 * Loaded into the measured process by `--import`: appends to the file that BLOCKS_FILE names how
 * many milliseconds of processor time the longest turn of the event loop took so far, beginning
 * with the first one after the program is loaded. Unlike the delay of a timer, this is no time for
 * which the thread waited for a core.
 */
const file = process.env["BLOCKS_FILE"];
const spent = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (file !== undefined) {
  let before: number | undefined;
  let longest = 0;
  setInterval(() => {
    const took = spent() - (before ?? Infinity);
    if (took > longest) {
      longest = took;
      appendFileSync(file, `${longest}\n`);
    }
    // What the probe itself took is no part of the next turn.
    before = spent();
  }, 2).unref();
}
