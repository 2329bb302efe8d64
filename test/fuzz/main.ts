/*
 * Fuzzes everything that reads untrusted input, target by target, for MINUTES= in total; SEED=
 * repeats a run, TARGET= selects the targets whose name contains a text.
 */
import { randomInt } from "node:crypto";
import fc from "fast-check";
import { isMissing, orMissing } from "../support/prepared.ts";
import { startRequestInfoOracle } from "../support/request-info-oracle.ts";
import { requestInfoTarget } from "./request-info-target.ts";
import { slowReading } from "./slow-reading.ts";
import { targets } from "./targets.ts";

const minutes = Number(process.env.MINUTES || 1);
const seed = Number(process.env.SEED || randomInt(2 ** 31));
const report = (line: string): void => void process.stdout.write(`${line}\n`);
const oracle = await orMissing(startRequestInfoOracle(report));
if (isMissing(oracle))
  report(`requests to the gateway are not compared with kube-apiserver's view: ${oracle.missing}`);
const all = [...targets, slowReading, ...(isMissing(oracle) ? [] : [requestInfoTarget(oracle)])];
const chosen = all.filter(({ name }) => name.includes(process.env.TARGET ?? ""));
const interruptAfterTimeLimit = (minutes * 60_000) / chosen.length;
let failures = 0;

process.stdout.write(
  `fuzzing ${chosen.length} targets for ${minutes} minutes in all, SEED=${seed}\n`,
);
for (const { name, property } of chosen) {
  const details = await fc.check(property(), {
    seed,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit,
    markInterruptAsFailure: false,
  });
  process.stdout.write(`${details.failed ? "FAILED" : "ok"}  ${details.numRuns} runs  ${name}\n`);
  if (!details.failed) continue;
  failures += 1;
  process.stdout.write(
    `${fc.defaultReportMessage(details) ?? ""}\nrepeat with: SEED=${seed} MINUTES=${minutes} TARGET='${name.split(":")[0] ?? ""}' make fuzz\n`,
  );
}
if (!isMissing(oracle)) oracle.stop();
process.exitCode = failures === 0 ? 0 : 1;
