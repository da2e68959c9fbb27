/** Files of `NAME=value` lines, as Docker and systemd read them. */
import { UsageError } from "./failure.ts";

/** One value, and the line it stands on, from 1. */
export interface EnvEntry {
  name: string;
  value: string;
  line: number;
}

const linePattern = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/** All of a value in double quotes, or in single ones. */
const quotedPattern = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')$/;

/**
 * Reads the values. Blank lines and lines that begin with `#` count for nothing. A value may stand in quotes: in double ones `\n`, `\"`,
 * `\\` and `\$` mean a line end and the character, in single ones every character means itself. Nothing is put in the place of `$NAME`.
 *
 * @throws {UsageError} For a line that is none, by its number: its text may be a secret.
 */
export function parseEnvFile(text: string): EnvEntry[] {
  const entries: EnvEntry[] = [];
  for (const [at, written] of text.split(/\r?\n/).entries()) {
    const line = at + 1;
    const trimmed = written.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const [, name, value] = linePattern.exec(trimmed) ?? [];
    if (name === undefined || value === undefined) throw new UsageError(`Line ${line} is no NAME=value.`);
    entries.push({ name, value: unquote(value, line), line });
  }
  return entries;
}

function unquote(value: string, line: number): string {
  const quote = value.charAt(0);
  if (quote !== '"' && quote !== "'") return value;
  const inside = quotedPattern
    .exec(value)
    ?.slice(1)
    .find((each) => each !== undefined);
  if (inside === undefined)
    throw new UsageError(`Line ${line}: what is in quotes does not end with the line.`);
  if (quote === "'") return inside;
  return inside.replaceAll(/\\(.)/g, (all, next: string) =>
    next === "n" ? "\n" : '"\\$'.includes(next) ? next : all,
  );
}
