/** What is read once and stays as it was then, by key: whoever asks for the same gets the same answer. What failed is read again. */
export class KeptReads<Answer> {
  readonly #answers = new Map<string, Promise<Answer>>();

  /** Reads, unless it was read before or is being read. */
  get(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = read();
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }
}
