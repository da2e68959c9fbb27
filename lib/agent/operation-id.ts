const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text is an operation's id in the one form that may become a file name. */
export function isOperationId(text: string): boolean {
  return uuidPattern.test(text);
}
