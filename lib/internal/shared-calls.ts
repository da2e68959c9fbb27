/** Calls that are under way, by key: whoever asks for the same meanwhile gets the same answer. */
export class SharedCalls<Answer> {
  readonly #calls = new Map<string, Promise<Answer>>();

  /** Calls, unless a call of this key is under way: then that one's answer, or failure, is everybody's. */
  get(key: string, call: () => Promise<Answer>): Promise<Answer> {
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    const answer = call().finally(() => this.#calls.delete(key));
    this.#calls.set(key, answer);
    return answer;
  }
}
