/**
 * Rejected promises that nobody handled, and files that nobody closed before the garbage collector did, in this process. A module of its own:
 * one process sets up many files, and hears of each once.
 */
export const unhandled: unknown[] = [];

process.on("unhandledRejection", (reason) => unhandled.push(reason));
process.on("warning", (warning) => {
  if (warning.message.startsWith("Closing file descriptor")) unhandled.push(warning);
});
