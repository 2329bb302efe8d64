import { inspect } from "node:util";

/**
 * A string that refuses to be printed: `toString`, `JSON.stringify` and `console.log` show
 * `[secret]`. Only `tokens` and kube's body encoder take the coat off, with {@link reveal}.
 */
export class SecretText {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Characters of the text itself. */
  get length(): number {
    return this.#value.length;
  }

  /** Bytes that the text stands for when it is padded base64 (RFC 4648 section 4). */
  get base64Bytes(): number {
    const length = this.#value.length;
    if (length === 0) return 0;
    const padding = this.#value.endsWith("==") ? 2 : this.#value.endsWith("=") ? 1 : 0;
    return (length / 4) * 3 - padding;
  }

  /**
   * Whether the text is padded base64 without line breaks, as the CRD wants it (RFC 4648 section
   * 4).
   */
  get isBase64(): boolean {
    return this.#value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(this.#value);
  }

  /** Whether the text has a line break somewhere. */
  get hasLineBreak(): boolean {
    return /[\r\n]/.test(this.#value);
  }

  /** Whether there is nothing inside. */
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

  /** The text inside. A house test allows this call in `tokens` and in kube's encoder only. */
  static reveal(secret: SecretText): string {
    return secret.#value;
  }
}
