/** The standard streams of the command line, and what it asks its user. */
export interface Terminal {
  /** Writes to the standard output. */
  readonly print: (content: string | Uint8Array) => void;
  /** Writes a line to the standard error, which begins with the program's name. */
  readonly say: (sentence: string) => void;
  readonly isInput: boolean;
  readonly isOutput: boolean;
  /** Whether the standard error is a terminal, which gets progress. */
  readonly isError: boolean;
  readonly hasColors: boolean;
  /** Lines of the terminal of the standard output; Infinity without one. */
  readonly rows: () => number;
  /** Reads the standard input to its end. */
  readonly readInput: () => Promise<Buffer>;
  /** Asks for a line on the terminal without an echo. */
  readonly askSecret: (prompt: string) => Promise<string>;
}
