/** Users and groups that the machine's files do not name: asked of its name service (NSS), one at a time, never all of them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostError } from "./host-error.ts";

/** What getent(1) can be asked for. */
export type NameTable = "passwd" | "group";

/** How long an answer is believed, milliseconds: found, not found, and where no answer came in time. */
const believedMs = { found: 30_000, none: 2000, late: 30_000 };

/** How long one question may take, milliseconds: the agent does nothing else meanwhile. */
const timeoutMs = 3000;

/** How many answers are kept. */
const maxAnswers = 10_000;

const searchPath = "/usr/sbin:/usr/bin:/sbin:/bin";

/** What getent exits with where there is none of that name. */
const notFoundCode = 2;

interface Answer {
  fields: string[] | "none" | "late";
  untilMs: number;
}

/** The name service of this machine. */
export class NameService {
  readonly #answers = new Map<string, Answer>();
  #sources: { readAtMs: number; hasMore: Record<NameTable, boolean> } | null = null;

  /**
   * The fields of an entry by its name or, in digits, its number; null where there is none.
   *
   * @throws {OrchestratorError} `HOST_ERROR`, ETIMEDOUT, where no answer comes: it is not known then whether there is one.
   */
  find(table: NameTable, key: string): string[] | null {
    if (!/^[^-\0\n:][^\0\n:]*$/.test(key) || !this.#hasMoreThanFiles(table)) return null;
    const question = `${table} ${key}`;
    const nowMs = performance.now();
    let answer = this.#answers.get(question);
    if (!answer || answer.untilMs < nowMs) {
      const fields = ask(table, key);
      const kind = typeof fields === "string" ? fields : "found";
      if (this.#answers.size >= maxAnswers) this.#answers.clear();
      answer = { fields, untilMs: nowMs + believedMs[kind] };
      this.#answers.set(question, answer);
    }
    if (answer.fields === "late") throw hostError(question, "ETIMEDOUT");
    return answer.fields === "none" ? null : answer.fields;
  }

  /** Asks again for what was not found: a program that ran may have made it. */
  forgetNone(): void {
    for (const [question, { fields }] of this.#answers) if (fields === "none") this.#answers.delete(question);
  }

  /** Where the files are all there is, nothing needs asking. */
  #hasMoreThanFiles(table: NameTable): boolean {
    const nowMs = performance.now();
    if (this.#sources === null || nowMs - this.#sources.readAtMs > believedMs.none)
      this.#sources = { readAtMs: nowMs, hasMore: readSources() };
    return this.#sources.hasMore[table];
  }
}

/** Whether /etc/nsswitch.conf names more than the files. Without it there is no such service, or none that we know. */
function readSources(): Record<NameTable, boolean> {
  let text = "";
  try {
    text = readFileSync("/etc/nsswitch.conf", "utf8");
  } catch {
    return { passwd: false, group: false };
  }
  const hasMore = (table: NameTable): boolean => {
    const line = new RegExp(`^\\s*${table}:([^#\\n]*)`, "m").exec(text)?.[1] ?? "";
    const sources = line.replaceAll(/\[[^\]]*\]/g, " ").split(/\s+/);
    return sources.some((source) => source !== "" && source !== "files");
  };
  return { passwd: hasMore("passwd"), group: hasMore("group") };
}

function ask(table: NameTable, key: string): string[] | "none" | "late" {
  try {
    const output = execFileSync("getent", [table, key], {
      encoding: "utf8",
      env: { PATH: searchPath, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
      cwd: "/",
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      maxBuffer: 16 * 1024 * 1024,
    });
    const [line = ""] = output.split("\n");
    return line.includes(":") ? line.split(":") : "none";
  } catch (error) {
    const { code, status } = error as { code?: unknown; status?: unknown };
    return status === notFoundCode || code === "ENOENT" ? "none" : "late";
  }
}
