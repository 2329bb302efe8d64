import {
  AliasNotFoundError,
  type ApplicationText,
  FlagNotFoundError,
  text_en,
  UnexpectedPositionalError,
  UnsatisfiedFlagError,
} from "@stricli/core";
import { CredentialsError } from "../kube/credentials/credentials.ts";
import { KubeError } from "../kube/client/kube-error.ts";
import { UsageError } from "../runtime/config-values.ts";

/** Whether the command line or the configuration is invalid: exit code 2, no stack trace. */
export function isUsageError(error: unknown): boolean {
  return error instanceof UsageError || error instanceof CredentialsError;
}

/**
 * Everything that @stricli/core prints to standard error, as one sentence each, for a program of
 * this name, whose errors become sentences by this function.
 */
export function usageTextFor(
  program: string,
  sentenceOf: (error: unknown) => string,
): ApplicationText {
  const said = (sentence: string): string => `${program}: ${sentence}`;
  return {
    ...text_en,
    noCommandRegisteredForInput: ({ input, corrections }) =>
      input.startsWith("-")
        ? said(`option ${nameIn(input)} does not exist here; write options after a command`)
        : said(
            `command "${input}" does not exist${didYouMean(corrections)}; ` +
              `${program} --help lists the commands`,
          ),
    exceptionWhileParsingArguments: (error) => said(problemOf(error) ?? sentenceOf(error)),
    exceptionWhileRunningCommand: (error) => said(sentenceOf(error)),
    exceptionWhileRunningIntegrationFlag: ({ exception }) => said(sentenceOf(exception)),
  };
}

function problemOf(error: unknown): string | undefined {
  if (error instanceof FlagNotFoundError)
    return (
      `option --${error.input} does not ` +
      `exist${didYouMean(error.corrections.map((name) => `--${name}`))}; --help lists the options`
    );
  if (error instanceof AliasNotFoundError)
    return `option -${error.input} does not exist; --help lists the options`;
  if (error instanceof UnsatisfiedFlagError)
    return (
      `option --${error.externalFlagName} requires a value, such as ` +
      `--${error.externalFlagName}=value`
    );
  if (error instanceof UnexpectedPositionalError)
    return `argument "${nameIn(error.input)}" is not an option; write options as --name=value`;
  return undefined;
}

/** The sentence for an error that is expected, and the stack of another. */
export function sentenceOrStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExpected = isUsageError(error) || error instanceof KubeError;
  return isExpected ? error.message : (error.stack ?? error.message);
}

/** The name of an option without its value, which may be secret. */
function nameIn(input: string): string {
  return input.startsWith("-") ? (input.split("=")[0] ?? "") : input;
}

function didYouMean(corrections: readonly string[]): string {
  const names = corrections.map((name) => name.replaceAll("`", ""));
  return names.length === 0 ? "" : ` (did you mean ${names.join(" or ")}?)`;
}
