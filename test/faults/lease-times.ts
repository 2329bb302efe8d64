import type { LeaseTimes } from "../../src/kube/leader-election.ts";

/** Long ones: a minute of the clock takes few renewals then. */
export const leaseTimes: LeaseTimes = {
  leaseDuration: 60_000,
  renewDeadline: 40_000,
  retryPeriod: 15_000,
};
