import { trueOrFalse } from "./config-values.ts";
import { type ConfigOf, type OptionTable, sharedOptions } from "./options.ts";

/** Every option of `latchkey rotate-signing-key`. */
export const rotateSigningKeyOptions = {
  ...sharedOptions,
  newEpoch: {
    value: "",
    initial: "false",
    help: "also start a new epoch of the list of revoked tokens; needed after a restore of etcd, because direct endpoints refuse lists that are older than theirs",
    parse: trueOrFalse,
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey rotate-signing-key`. */
export type RotateSigningKeyOptions = ConfigOf<typeof rotateSigningKeyOptions>;
