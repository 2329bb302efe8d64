import type { Writable } from "node:stream";
import type { Connection, OpenRequest } from "./connection-pool.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

/** Where an exchange counts. */
export interface ExchangeServing {
  readonly connection: Connection;
  readonly unread: UnreadAnswers;
}

/** What exchanges of both versions of HTTP share: their place on the connection, and their end. */
export abstract class OpenExchange<Outgoing extends Writable> {
  protected readonly outgoing: Outgoing;
  readonly #request: OpenRequest;
  readonly #unread: UnreadAnswers;
  /** Called once the exchange is over. */
  readonly #closing: (() => void)[] = [];

  constructor(outgoing: Outgoing, { connection, unread }: ExchangeServing) {
    [this.outgoing, this.#unread, this.#request] = [outgoing, unread, connection.began()];
    outgoing.once("close", () => {
      this.#request.closed();
      for (const listener of this.#closing.splice(0)) listener();
    });
    // Without a listener, an error would end the process.
    outgoing.on("error", nothing);
  }

  accepted(user: string): void {
    this.#request.accepted(user);
  }

  onDrain(listener: () => void): void {
    this.outgoing.on("drain", listener);
  }

  onClose(listener: () => void): void {
    if (this.outgoing.closed) listener();
    else this.#closing.push(listener);
  }

  /** Records that the whole answer was given. */
  protected answered(): void {
    this.#request.answered();
    if (this.outgoing.closed) return;
    const end = this.#unread.add(this.#request.owner, () => this.outgoing.destroy());
    this.#closing.push(end);
  }
}

const nothing = (): void => {};
