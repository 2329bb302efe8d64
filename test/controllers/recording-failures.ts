import type { Key } from "../../src/api/object.ts";
import { Failures } from "../../src/controllers/failures.ts";
import type { ReportedFailure } from "../../src/domain/plan/failure-history.ts";
import type { TestClock } from "../support/test-clock.ts";

/** Failures that record what is reported, and when they requeue. */
export class RecordingFailures extends Failures {
  readonly lines: string[];

  constructor(clock: TestClock) {
    const lines: string[] = [];
    super({
      clock,
      lookAgainAt: (key: Key, at: number) =>
        void lines.push(`${key} again in ${at - clock.now()} ms`),
      onChange: (key: Key, said: ReportedFailure | undefined) =>
        void lines.push(
          `${key}: ${said === undefined ? "none" : `${said.reason} ${said.message}`}`,
        ),
    });
    this.lines = lines;
  }
}

/** Failures of each queue, which tests do not check. */
export function allFailures(
  clock: TestClock,
): Readonly<
  Record<
    | "copyFailures"
    | "sharedSecretFailures"
    | "keyFailures"
    | "tokenFailures"
    | "grantFailures"
    | "revocationFailures",
    RecordingFailures
  >
> {
  const failures = (): RecordingFailures => new RecordingFailures(clock);
  return {
    copyFailures: failures(),
    sharedSecretFailures: failures(),
    keyFailures: failures(),
    tokenFailures: failures(),
    grantFailures: failures(),
    revocationFailures: failures(),
  };
}
