import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { certificateBlocks } from "../../api/pem.ts";
import type { PassiveClock } from "../../runtime/clock.ts";
import type { FollowedFiles } from "../../runtime/followed-files.ts";
import type { Logger } from "../../runtime/log.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { ProcessPart } from "../../runtime/run-process.ts";
import { type Credentials, CredentialsError, type TlsMaterial } from "./credentials.ts";
import { OutageLog } from "./outage-log.ts";
import { afterAnswer, needsRestart, type ServerRecord, serverProblem } from "./server-answers.ts";

/** Credentials that change with their files, and what the API server makes of them. */
export interface FollowedCredentials extends Credentials {
  readonly noteAnswer: NonNullable<Credentials["noteAnswer"]>;
  /** Says what the files and the API server do, and whether only a restart helps. */
  readonly part: ProcessPart;
  /** See {@link OutageLog}. */
  readonly quiet: (log: Logger) => Logger;
}

/** Where credentials come from. */
interface CredentialsSource<T> {
  readonly files: FollowedFiles<T>;
  /** The credentials that the files say; rejects with a CredentialsError. */
  readonly open: (content: T) => Credentials | Promise<Credentials>;
}

/** Opens the credentials that files say, and again when they say something else. */
export async function followCredentials<T>(
  { files, open }: CredentialsSource<T>,
  { clock, log }: { readonly clock: PassiveClock; readonly log: Logger | undefined },
): Promise<FollowedCredentials> {
  let content = files.current();
  let opened = await open(content);
  let opening: Promise<void> | undefined;
  let record: ServerRecord = {};
  const outages = new OutageLog(clock, log);
  // Without the password that a URL may have: everybody who reaches the port reads /readyz.
  const origin = () => new URL(opened.server).origin;
  async function openAgain(said: T): Promise<void> {
    [opened, content] = [await open(said), said];
  }
  return {
    get server() {
      return opened.server;
    },
    get tls() {
      return opened.tls;
    },
    get proxy() {
      return opened.proxy;
    },
    async authorization() {
      const said = files.current();
      if (said !== content)
        await (opening ??= openAgain(said).finally(() => (opening = undefined)));
      return opened.authorization();
    },
    forget() {
      files.expire();
      opened.forget();
    },
    noteAnswer(answer) {
      record = afterAnswer(record, answer, clock.monotonic());
      outages.note(answer, origin());
    },
    quiet: (quieted) => outages.quiet(quieted),
    part: serverPart(() => ({
      record,
      files,
      server: origin(),
      now: clock.monotonic(),
    })),
  };
}

/** What a process knows about its API server at an instant. */
interface ServerFacts {
  readonly record: ServerRecord;
  readonly files: Pick<FollowedFiles<unknown>, "problem" | "changedAt" | "warnings">;
  readonly server: string;
  readonly now: number;
}

function serverPart(facts: () => ServerFacts): ProcessPart {
  const textsOf = (isUnready: boolean): readonly string[] => {
    const { record, server, now } = facts();
    const problem = serverProblem(record, server, now);
    return problem?.isUnready === isUnready ? [problem.text] : [];
  };
  return {
    problems: () => textsOf(true),
    warnings: () => [...textsOf(false), ...facts().files.warnings()],
    restartReasons() {
      const { record, files, now } = facts();
      return needsRestart(record, files, now) ? textsOf(true) : [];
    },
  };
}

/**
 * Throws a CredentialsError if certificates are no valid PEM, or a key is of another certificate:
 * so they look while they are written. `of` names their files.
 */
export function checkTlsMaterial({ ca, cert, key }: TlsMaterial, of: string): void {
  const refuse = (why: string): never => {
    throw new CredentialsError(`${of} cannot be used: ${why}`);
  };
  const [begun, ended] = ["BEGIN", "END"].map((word) => (ca ?? "").split(`-----${word} `).length);
  // Without a certificate, Node would trust the public CAs.
  if (ca !== undefined && (begun === 1 || begun !== ended))
    refuse("the certificates of the CA are incomplete");
  try {
    for (const block of certificateBlocks(ca ?? "")) new X509Certificate(block);
    createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    });
  } catch (error) {
    refuse(errorCode(error) ?? "the certificates are not valid");
  }
}
