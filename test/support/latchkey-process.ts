import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ControlPlane } from "./control-plane-handle.ts";
import { accountKubeconfig } from "./account-login.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { repository } from "./install.ts";
import { writePrivately } from "./kubeconfig.ts";
import { loopbackHost, reachedAt } from "./loopback.ts";
import { logTail, startTiedChild, type Exit, type TiedChild } from "./tied-child.ts";

/**
 * A process that exits this early would be restarted in a loop: it is restarted after this pause,
 * which never increases.
 */
const shortestLifeMs = 500;

/** How a process of Latchkey is run. */
export interface LatchkeyOptions {
  controlPlane: ControlPlane;
  /** The address at which it answers clients; a free port of the loopback by default. */
  address?: string;
  /** Arguments after the command. */
  args?: readonly string[];
  /**
   * Variables in addition to PATH, HOME, KUBECONFIG and those of the HTTP address, the identity and
   * the namespace.
   */
  env?: Readonly<Record<string, string>>;
  /** The namespace of its service account and of what it keeps; latchkey-system by default. */
  namespace?: string;
  /** Flags of Node itself. */
  nodeFlags?: readonly string[];
  /** The program to run; `src/main.ts` by default. */
  program?: string;
  /** The words that start the program, in place of Node, its flags and `program`. */
  command?: readonly string[];
  /** `at-once` (the default) restarts it whenever it exits; `never` leaves that to `start()`. */
  restart?: "at-once" | "never";
  /**
   * Identity in the Lease; the same after each restart, so that the process gets the Lease without
   * waiting.
   */
  identity?: string;
  /**
   * The directory of its log, token and kubeconfig; a new directory in the control plane's by
   * default.
   */
  directory?: string;
  log?: string;
  /** A file with the pid of the running process. */
  pidFile?: string;
  /** Called after each unexpected exit. */
  onDeath?(exit: Exit): void;
}

/** A supervised process of Latchkey; its URLs and identity stay the same across restarts. */
export interface LatchkeyProcess {
  /** The pid of the current node process. */
  readonly pid: number;
  /** How many times it was started. */
  readonly starts: number;
  url: string;
  identity: string;
  kubeconfig: string;
  log: string;
  /** Settles when the current process has exited. */
  exited(): Promise<Exit>;
  /** Sends a signal to the current process. */
  kill(signal: NodeJS.Signals): void;
  /** Starts it again after an exit with `restart: "never"`. */
  start(): void;
  /**
   * Waits until /readyz returns 200; the error after a timeout ends with the last lines of the log.
   */
  waitReady(within?: number): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after 30 s; the process is not restarted. */
  stop(): Promise<Exit>;
}

/** A webhook process with its URL. */
export type WebhookProcess = LatchkeyProcess & { webhookUrl: string };

/** A controller process with the URL of its issuer. */
export type ControllerProcess = LatchkeyProcess & { issuerUrl: string };

/** A gateway process, and where it answers clients. */
export type GatewayProcess = LatchkeyProcess & { gatewayUrl: string };

/** A direct endpoint, and where it answers clients. */
export type DirectEndpointProcess = LatchkeyProcess & { endpointUrl: string };

/** Runs a process of Latchkey as its own service account, on ports that it keeps. */
type Start<Url> = (options: LatchkeyOptions) => Promise<LatchkeyProcess & Url>;

/** What is particular about a program, whose service account has the same name. */
interface Program<Url> {
  readonly name: string;
  readonly words?: readonly string[];
  /** The variable of the address at which it answers clients. */
  readonly variable: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly urlOf: (url: string) => Url;
}

/** Makes it end at once, unless a test sets another LATCHKEY_DRAIN_TIMEOUT. */
const endsAtOnce = { LATCHKEY_DRAIN_TIMEOUT: "0" };
const localNames = { LATCHKEY_EXTERNAL_NAMES: "127.0.0.1,localhost" };

function starter<Url extends object>(program: Program<Url>): Start<Url> {
  return async (options) => {
    const address = options.address ?? `${loopbackHost}:${await freePort()}`;
    const env = { [program.variable]: address, ...program.env, ...options.env };
    const words = program.words ?? [program.name];
    const started = await startLatchkey({ name: program.name, words }, { ...options, env });
    return Object.assign(started, program.urlOf(`https://${reachedAt(address)}`));
  };
}

/** Runs `latchkey controller`. */
export const startController = starter({
  name: "controller",
  variable: "LATCHKEY_ISSUER_ADDRESS",
  env: localNames,
  urlOf: (issuerUrl) => ({ issuerUrl }),
});

/** Runs `latchkey webhook`. */
export const startWebhook = starter({
  name: "webhook",
  variable: "LATCHKEY_WEBHOOK_ADDRESS",
  env: endsAtOnce,
  urlOf: (webhookUrl) => ({ webhookUrl }),
});

/** Runs `latchkey webhook --direct`. */
export const startDirectAuthorizer = starter({
  name: "direct-authorizer",
  words: ["webhook", "--direct"],
  variable: "LATCHKEY_WEBHOOK_ADDRESS",
  env: endsAtOnce,
  urlOf: (webhookUrl) => ({ webhookUrl }),
});

/** Runs `latchkey gateway`. */
export const startGateway = starter({
  name: "gateway",
  variable: "LATCHKEY_GATEWAY_ADDRESS",
  env: endsAtOnce,
  urlOf: (gatewayUrl) => ({ gatewayUrl }),
});

/** Runs `latchkey direct-endpoint`. */
export const startDirectEndpoint = starter({
  name: "direct-endpoint",
  variable: "LATCHKEY_ENDPOINT_ADDRESS",
  env: { ...localNames, ...endsAtOnce },
  urlOf: (endpointUrl) => ({ endpointUrl }),
});

/** Runs `latchkey cluster-agent`, which answers no clients. */
export function startClusterAgent(options: LatchkeyOptions): Promise<LatchkeyProcess> {
  return startLatchkey({ name: "cluster-agent", words: ["cluster-agent"] }, options);
}

async function startLatchkey(
  { name, words }: { readonly name: string; readonly words: readonly string[] },
  options: LatchkeyOptions,
): Promise<LatchkeyProcess> {
  const directory =
    options.directory ?? mkdtempSync(join(options.controlPlane.directory, `${name}-`));
  const { namespace = "latchkey-system" } = options;
  const login = await accountKubeconfig(options.controlPlane, {
    directory,
    account: `latchkey-${name}`,
    namespace,
  });
  const address = options.env?.["LATCHKEY_HTTP_ADDRESS"] ?? `${loopbackHost}:${await freePort()}`;
  const identity = options.identity ?? `supervised-${address}`;
  const log = options.log ?? join(directory, `${name}.log`);
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    KUBECONFIG: login.kubeconfig,
    LATCHKEY_HTTP_ADDRESS: address,
    LATCHKEY_IDENTITY: identity,
    LATCHKEY_NAMESPACE: namespace,
    ...options.env,
  };
  const program = options.program ?? join(repository, "src", "main.ts");
  const command = [
    ...(options.command ?? [process.execPath, ...(options.nodeFlags ?? []), program]),
    ...words,
    ...(options.args ?? []),
  ];
  const supervised = supervise(
    () => startTiedChild(command, { log, env, cwd: repository }),
    options,
  );
  const url = `http://${reachedAt(address)}`;
  return {
    get pid() {
      return supervised.child().pid;
    },
    get starts() {
      return supervised.starts();
    },
    url,
    identity,
    kubeconfig: login.kubeconfig,
    log,
    exited: () => supervised.child().exited,
    kill: (signal) => supervised.child().kill(signal),
    start: () => supervised.start(),
    waitReady: (within = 150_000) => waitReady({ name, url, log }, within),
    stop: async () => {
      login.close();
      return supervised.stop();
    },
  };
}

/** A child process that is restarted whenever it exits. */
interface Supervised {
  child(): TiedChild;
  starts(): number;
  start(): void;
  stop(): Promise<Exit>;
}

function supervise(startChild: () => TiedChild, options: LatchkeyOptions): Supervised {
  let child: TiedChild;
  let starts = 0;
  let stopping = false;
  const start = () => {
    const begun = Date.now();
    child = startChild();
    starts += 1;
    if (options.pidFile !== undefined) writePrivately(options.pidFile, `${child.pid}\n`);
    void child.exited.then(async (exit) => {
      if (stopping) return;
      options.onDeath?.(exit);
      if (options.restart === "never") return;
      if (Date.now() - begun < shortestLifeMs) await pause(shortestLifeMs);
      if (!stopping) start();
    });
  };
  start();
  const stop = () => {
    stopping = true;
    return child.stop(30_000);
  };
  return { child: () => child, starts: () => starts, start, stop };
}

async function waitReady(
  { name, url, log }: { readonly name: string; readonly url: string; readonly log: string },
  within: number,
): Promise<void> {
  const ready = async () => (await fetch(`${url}/readyz`)).ok;
  try {
    await eventually(ready, { what: `the ${name} to be ready`, within });
  } catch (error) {
    const text = error instanceof Error ? error.message : "";
    throw new Error(`${text}; the log is ${log}\n${logTail(log)}`, { cause: error });
  }
}
