/** The secrets of one operation while it runs: in memory alone, put where they are worked with, and taken out of all that is told. */
import type { Crypto } from "../crypto/crypto.ts";
import { OrchestratorError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { LogFields, Logger } from "../logger.ts";
import { type SecretForm, toForm } from "../secret-format/forms.ts";
import { fillPlaceholders } from "../secret-format/placeholder.ts";
import { Redactor } from "../secret-format/redactor.ts";
import { openSecrets, type SealedSecrets } from "../secret-format/sealed-secrets.ts";
import type { AgentIdentity } from "./identity.ts";

/** What an operation does with its secrets. */
export interface RevealedSecrets {
  /** Puts them into properties; absent where there are none. */
  reveal?: (spec: JsonObject) => JsonObject;
  redactor: Redactor;
}

/** Opens what is sealed to this agent. */
export type OpenSecrets = (command: {
  operation_id: string;
  secrets?: SealedSecrets | undefined;
}) => RevealedSecrets;

const none: RevealedSecrets = { redactor: new Redactor([]) };

/** Makes what opens secrets with an agent's own key; it throws `SECRET_UNAVAILABLE` for what is not sealed to this agent and operation. */
export function createOpenSecrets(
  { node_id: nodeId, box }: Pick<AgentIdentity, "node_id" | "box">,
  crypto: Crypto,
): OpenSecrets {
  return ({ operation_id: operationId, secrets }) => {
    if (!secrets) return none;
    const { values, places } = openSecrets(secrets, { crypto, own: box, nodeId, operationId });
    const texts = new Map<string, string>();
    for (const { text, form, value } of places) {
      const bytes = values[value];
      const written = bytes && toForm(bytes, form as SecretForm);
      if (typeof written !== "string")
        throw new OrchestratorError("SECRET_UNAVAILABLE", {
          message: "A secret can't be written in the form that a module asks for.",
        });
      texts.set(text, written);
    }
    return { reveal: (spec) => fillPlaceholders(spec, texts), redactor: new Redactor(values) };
  };
}

/** For a runner without keys: it takes no operation with secrets. */
export const openNoSecrets: OpenSecrets = ({ secrets }) => {
  if (!secrets) return none;
  throw new OrchestratorError("SECRET_UNAVAILABLE", { message: "This agent can't open secrets." });
};

/** The same logger, told no secret. */
export function withoutSecrets(logger: Logger, redactor: Redactor): Logger {
  if (redactor.isEmpty) return logger;
  const clean = (level: "debug" | "info" | "warn" | "error"): Logger["info"] => {
    return (message, fields) =>
      logger[level](redactor.redact(message), fields && cleanFields(fields, redactor));
  };
  return { debug: clean("debug"), info: clean("info"), warn: clean("warn"), error: clean("error") };
}

function cleanFields(fields: LogFields, redactor: Redactor): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? cleanError(value, redactor) : redactor.redactAll(value),
    ]),
  );
}

function cleanError(error: Error, redactor: Redactor): Error {
  const clean = new Error(redactor.redact(error.message));
  clean.name = error.name;
  clean.stack = redactor.redact(error.stack ?? "");
  return clean;
}
