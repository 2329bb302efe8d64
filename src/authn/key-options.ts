import { duration, namePrefix, userNames } from "../runtime/config-values.ts";
import type { OptionTable } from "../runtime/options.ts";

/** Options of every server that decides about access keys. */
export const keyOptions = {
  userPrefix: {
    value: "<text>",
    initial: "",
    help: "prefix of usernames, as your authenticator sets it",
    parse: namePrefix,
  },
  teamPrefix: {
    value: "<text>",
    initial: "",
    help: "prefix of team names, which are groups, as your authenticator sets it",
    parse: namePrefix,
  },
  /** Seconds; 0 is no limit. */
  maximumKeyTtl: {
    value: "<duration>",
    initial: "0",
    help:
      "maximum lifetime of an access key; 0 is no limit; " +
      "set the same for controller, webhook and gateway",
    parse: duration({ unit: 1, least: 0 }),
  },
} as const satisfies OptionTable;

/** Options of what counts the objects of a requester. */
export const quotaOptions = {
  /** Usernames whose keys and tokens are not counted. */
  quotaExempt: {
    value: "<users>",
    initial: "",
    help:
      "usernames without a quota, separated by commas, such as " +
      "system:serviceaccount:argocd:argocd-application-controller; " +
      "set the same for controller and webhook",
    parse: userNames,
  },
} as const satisfies OptionTable;
