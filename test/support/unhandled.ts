/** Rejected promises that nobody handled, in this process. A module of its own: one process sets up many files, and hears of each once. */
export const unhandled: unknown[] = [];

process.on("unhandledRejection", (reason) => unhandled.push(reason));
