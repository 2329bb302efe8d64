import { appendFileSync } from "node:fs";

/**
 * Loaded into the measured process by `--import`: appends to the file BLOCKS_FILE the milliseconds
 * of CPU time of the longest iteration of the event loop so far, beginning with the first one after
 * the program is loaded. Unlike the delay of a timer, this excludes time in which the thread waited
 * for a core.
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
    // The CPU time of the probe is not part of the next iteration.
    before = spent();
  }, 2).unref();
}
