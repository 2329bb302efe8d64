import { type ConfigOf, sharedOptions } from "./options.ts";

/** Every option of `latchkey rotate-signing-key`. */
export const rotateSigningKeyOptions = sharedOptions;

/** Configuration of `latchkey rotate-signing-key`. */
export type RotateSigningKeyOptions = ConfigOf<typeof rotateSigningKeyOptions>;
