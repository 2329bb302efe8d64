import type { LeaseTimes } from "../../src/kube/leader-election.ts";

/** Long times, so that a minute of the clock needs few renewals. */
export const leaseTimes: LeaseTimes = {
  leaseDuration: 60_000,
  renewDeadline: 40_000,
  retryPeriod: 15_000,
};
