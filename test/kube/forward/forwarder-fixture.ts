import { systemClock } from "../../../src/runtime/clock.ts";
import {
  createForwarder,
  type ForwardedRequest,
  type Forwarder,
  type ForwarderOptions,
  type Forwarding,
} from "../../../src/kube/forward/forwarder.ts";
import { fakeCredentials } from "../../support/fake-credentials.ts";
import { startUpstreamRecorder, type UpstreamRecorder } from "../../support/upstream-recorder.ts";

/** A forwarder and the recorder that it sends to. */
export interface ForwarderFixture {
  readonly recorder: UpstreamRecorder;
  readonly forwarder: Forwarder;
  close(): Promise<void>;
}

/** Starts both; `prefix` is the path of the server, and `authorization` reads the credential. */
export async function startForwarder(
  changes: Partial<ForwarderOptions> & {
    readonly prefix?: string;
    readonly authorization?: () => Promise<string>;
  } = {},
): Promise<ForwarderFixture> {
  const { prefix = "", authorization, ...options } = changes;
  const recorder = await startUpstreamRecorder();
  const { credentials } = fakeCredentials(recorder.url + prefix);
  const forwarder = createForwarder({
    credentials: { ...credentials, ...(authorization && { authorization }) },
    clock: systemClock,
    headTimeoutMs: 75_000,
    connections: 128,
    ...options,
  });
  return {
    recorder,
    forwarder,
    close: async () => void (await Promise.all([forwarder.close(), recorder.close()])),
  };
}

/** What came of a request. */
export interface SeenAnswer {
  readonly forwarding: Forwarding;
  readonly heads: readonly (readonly [number, readonly string[]])[];
  text: string;
  /** `end`, or the failure. */
  readonly ended: Promise<string>;
  end: string | undefined;
}

/** A request without a body. */
export const get = {
  method: "GET",
  target: "/api",
  headers: ["accept", "a"],
  kind: "answer",
  isProxied: false,
  sharer: { user: "alice", key: "a" },
} as const;
/** A request that must not be sent twice. */
export const post = { ...get, method: "POST" } as const;

/** Forwards a request; `takes` says whether its reader is ready for more. */
export function send(
  { forwarder }: Pick<ForwarderFixture, "forwarder">,
  request: Partial<ForwardedRequest> = {},
  takes: (chunk: Uint8Array) => boolean = () => true,
): SeenAnswer {
  const heads: [number, readonly string[]][] = [];
  const ended = Promise.withResolvers<string>();
  const over = (how: string): void => {
    seen.end ??= how;
    ended.resolve(how);
  };
  const forwarding = forwarder.forward(
    { ...get, body: undefined, ...request },
    {
      onHead: (status, rawHeaders) => void heads.push([status, rawHeaders]),
      onData(chunk) {
        seen.text += Buffer.from(chunk).toString();
        return takes(chunk);
      },
      onEnd: () => over("end"),
      onError: over,
    },
  );
  const seen: SeenAnswer = { forwarding, heads, text: "", ended: ended.promise, end: undefined };
  return seen;
}
