/** How an interpreter gets a script: through standard input, and so that what the script runs can't take the rest of it. */
import type { HostCommand } from "../../../host/host.ts";

const shells = /(?:^|\/)(?:ba|da|k|z|a)?sh$/;

/** Programs that run the rest of their arguments as they are, such as `env` in the first line of a script. */
const starters = /(?:^|\/)(?:env|busybox|nice|ionice|timeout|nohup|setsid|stdbuf|chroot|unshare|sudo|doas)$/;

/** What standard input is a socket to is taken by it for a remote login, for which it runs the user's ~/.bashrc. */
const bash = /(?:^|\/)bash$/;

const takeAll = 'eval "$(cat)" </dev/null';

/**
 * A shell reads its script bit by bit, so a program in it that reads standard input would swallow the rest and the script
 * would succeed half done. Hence it first takes the whole text, then runs it with nothing to read. Others read all at once.
 */
export function interpret(
  interpreter: readonly [string, ...string[]],
  script: string,
): Pick<HostCommand, "argv" | "stdin"> {
  const [program, ...rest] = splitWords(interpreter);
  const words = [program, ...rest];
  const at = starters.test(program) ? words.findIndex((word) => shells.test(word)) : 0;
  const shell = words[at];
  if (shell === undefined || !shells.test(shell)) return { argv: [...interpreter], stdin: script };
  const options = readingAll(shell, words.slice(at + 1));
  if (options === null) return { argv: [...interpreter], stdin: script };
  return { argv: [program, ...rest.slice(0, at), ...options], stdin: script };
}

/** `env -S "bash -e"` is `env bash -e`. */
function splitWords([program, ...rest]: readonly [string, ...string[]]): [string, ...string[]] {
  const [flag, text, ...more] = rest;
  const isPlain = /(?:^|\/)env$/.test(program) && flag === "-S" && /^[\w ./:=+-]+$/.test(text ?? "");
  return isPlain
    ? [program, ...(text ?? "").split(" ").filter((word) => word !== ""), ...more]
    : [program, ...rest];
}

/** The arguments of a shell that takes the whole text first; null where it would not read its script from standard input. */
function readingAll(shell: string, words: readonly string[]): string[] | null {
  const flags: string[] = [];
  const operands = [...words];
  let reads = false;
  for (let word = operands[0]; word !== undefined && /^[-+]/.test(word); word = operands[0]) {
    operands.shift();
    if (word === "--" || word === "-") break;
    if (/^-[A-Za-z]*c/.test(word)) return null;
    const isRead = /^-[A-Za-z]*s/.test(word);
    reads ||= isRead;
    const flag = isRead ? word.replace("s", "") : word;
    if (flag !== "-") flags.push(flag);
    // These name something, such as "pipefail".
    if (/^(?:[-+][A-Za-z]*[oO]|--(?:rcfile|init-file))$/.test(word)) flags.push(...operands.splice(0, 1));
  }
  if (operands.length > 0 && !reads) return null;
  const isAsked = flags.some((flag) => /^-[A-Za-z]*i/.test(flag));
  const plain = bash.test(shell) && !isAsked ? ["--norc"] : [];
  return [...plain, ...flags, "-c", takeAll, ...(operands.length > 0 ? [shell, ...operands] : [])];
}
