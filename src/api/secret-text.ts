import { inspect } from "node:util";

/**
 * A wrapper of a secret string that cannot be printed: `toString`, `JSON.stringify` and
 * `console.log` show `[secret]`. Only `src/tokens` and `src/kube/client/request-body.ts` read the
 * value, with {@link reveal}.
 */
export class SecretText {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Length of the value in UTF-16 code units. */
  get length(): number {
    return this.#value.length;
  }

  /** Decoded length in bytes if the value is padded base64 (RFC 4648 section 4). */
  get base64Bytes(): number {
    const length = this.#value.length;
    if (length === 0) return 0;
    const padding = this.#value.endsWith("==") ? 2 : this.#value.endsWith("=") ? 1 : 0;
    return (length / 4) * 3 - padding;
  }

  /**
   * Whether the value is padded base64 without line breaks, as the CRD requires (RFC 4648 section
   * 4).
   */
  get isBase64(): boolean {
    return this.#value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(this.#value);
  }

  /** Whether the value contains a line break. */
  get hasLineBreak(): boolean {
    return /[\r\n]/.test(this.#value);
  }

  /** Whether the value is the empty string. */
  get isEmpty(): boolean {
    return this.#value === "";
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }

  /**
   * Returns the value. test/house/habits.test.ts allows calls only in `src/tokens` and
   * `src/kube/client/request-body.ts`.
   */
  static reveal(secret: SecretText): string {
    return secret.#value;
  }
}
