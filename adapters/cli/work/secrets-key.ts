/** Where the server's key for secrets comes from: a file of the data folder, a text, or a program that asks a vault. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { SecretsKeySource } from "fleetwright";
import { isOrchestratorError, OrchestratorError } from "fleetwright/errors";
import { codeOf } from "../../client/system-error.ts";
import { readOwnFile, replacePrivateFile } from "../private-file.ts";

/** File in the data folder with a key a line, 64 hex digits, the newest first. Made at the first start, mode 0600. */
export const secretsKeyFile = "secrets.key";

const keyBytes = 32;
const hexKey = /^[0-9a-fA-F]{64}$/;
/** How long a program may take to say the key, milliseconds, and how much it may say, characters. */
const programMs = 30_000;
const longestAnswer = 65_536;

/** What the server was told of its key; null = nothing. */
export interface SecretsKeySettings {
  secretsKey: string | null;
  secretsKeyCommand: string | null;
}

/** Finds the source that the settings name: the text before the program, else the file of the data folder. */
export function secretsKeyOf(
  { secretsKey, secretsKeyCommand }: SecretsKeySettings,
  dataDir: string,
): SecretsKeySource {
  if (secretsKey !== null) {
    const keys = parseKeys(secretsKey, "the setting FLEETWRIGHT_SECRETS_KEY");
    return { read: () => Promise.resolve(keys) };
  }
  if (secretsKeyCommand !== null) return { read: () => askProgram(secretsKeyCommand) };
  return new KeyFile(join(dataDir, secretsKeyFile));
}

/** Keys in a file, which is replaced as a whole: who reads it finds the old keys or the new ones. */
class KeyFile implements SecretsKeySource {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<readonly Uint8Array[]> {
    try {
      return parseKeys(readOwnFile(this.#path), this.#path);
    } catch (cause) {
      if (codeOf(cause) === "ENOENT") return [];
      if (isOrchestratorError(cause)) throw cause;
      throw wrong(`${this.#path} can't be read (${codeOf(cause)}).`, cause);
    }
  }

  async renew(): Promise<void> {
    this.#write([randomBytes(keyBytes), ...(await this.read())]);
  }

  async retire(newest: Uint8Array): Promise<void> {
    const keys = await this.read();
    const kept = keys.findIndex((key) => Buffer.compare(key, newest) === 0) + 1;
    if (kept > 0 && kept < keys.length) this.#write(keys.slice(0, kept));
  }

  #write(keys: readonly Uint8Array[]): void {
    const text = keys.map((key) => `${Buffer.from(key).toString("hex")}\n`).join("");
    replacePrivateFile(this.#path, text);
  }
}

/**
 * Runs a program in a shell; what it prints are keys, the newest first. Its own words of a failure stay on its standard error.
 *
 * One that is given up is not waited for: to kill the shell ends nothing that it has started, which may hold its output open.
 */
function askProgram(command: string): Promise<readonly Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
    let answer = "";
    const giveUp = (why: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      // Who goes on printing is ended by that.
      child.stdout.destroy();
      reject(wrong(`The program of the key ${why}.`));
    };
    const timer = setTimeout(() => giveUp(`took longer than ${programMs / 1_000} s`), programMs);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
      if (answer.length > longestAnswer) giveUp(`printed more than ${longestAnswer} characters`);
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(wrong("The program of the key can't be run.", error));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code !== 0)
        return reject(wrong(`The program of the key ended with ${signal ?? code ?? "unknown"}.`));
      try {
        resolve(parseKeys(answer, "what the program of the key printed"));
      } catch (error) {
        reject(error as Error);
      }
    });
  });
}

/** Keys with commas, blanks or line ends between them, in hex or base64; nothing of them is in the error. */
function parseKeys(text: string, where: string): Uint8Array[] {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== "")
    .map((part) => Buffer.from(part, hexKey.test(part) ? "hex" : "base64"));
  if (keys.length > 0 && keys.every(({ length }) => length === keyBytes))
    return keys.map((key) => new Uint8Array(key));
  throw wrong(`In ${where} there is no key of ${keyBytes} bytes in hex or base64.`);
}

function wrong(message: string, cause?: unknown): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
}
