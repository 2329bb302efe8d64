import type { ServerTls } from "./http-server.ts";

/** A server whose certificates can be replaced while it runs. */
interface CertifiedServer {
  useTls(material: ServerTls): void;
}

/** Starts a server with its first certificates, and gives it each further set. */
export class TlsListener<S extends CertifiedServer> {
  readonly #start: (tls: ServerTls) => Promise<S>;
  readonly #onFailure: (error: unknown) => void;
  #starting: Promise<S> | undefined;
  #isListening = false;

  /** `onFailure` is called if the server cannot start: its address is taken, or a file is invalid. */
  constructor(start: (tls: ServerTls) => Promise<S>, onFailure: (error: unknown) => void) {
    this.#start = start;
    this.#onFailure = onFailure;
  }

  isListening(): boolean {
    return this.#isListening;
  }

  /** The server; undefined while there are no certificates. */
  get server(): Promise<S> | undefined {
    return this.#starting;
  }

  /** Uses these certificates for new connections; the first ones start the server. */
  readonly useTls = (tls: ServerTls): void => {
    if (this.#starting !== undefined)
      return void this.#starting.then((server) => server.useTls(tls));
    this.#starting = this.#start(tls);
    this.#starting.then(() => (this.#isListening = true), this.#onFailure);
  };
}
