/** Compares answers of the query service with answers of the contract's model. */
import { deepStrictEqual } from 'node:assert/strict';
import type { ApiClient } from './api-client.ts';
import type { Model } from './model.ts';
import { answerTo, type Question, records, SEARCHES, target } from './questions.ts';
import { STREAM_STORES } from './streams.ts';

export interface Compared {
  answers: number;
  /** Questions with results; the others compare little. */
  found: number;
}

/**
 * Requests lists by questions, all searches, and every record, menu and store of the streams.
 * @throws {AssertionError} at the first difference, with the path and both answers.
 */
export async function compareAnswers(
  model: Model,
  api: ApiClient,
  tokens: ReadonlyMap<string, string>,
  questions: readonly Question[],
): Promise<Compared> {
  const compared = { answers: 0, found: 0 };
  const compare = async (store: string, path: string, expected: unknown) => {
    const { status, json } = await api.get(path, tokens.get(store) ?? '');
    const about = { store, path };
    if (expected === null) deepStrictEqual({ ...about, status }, { ...about, status: 404 });
    else deepStrictEqual({ ...about, status, json }, { ...about, status: 200, json: expected });
    compared.answers += 1;
  };
  for (const question of questions) {
    const expected = answerTo(question, model);
    await compare(question.storeId, target(question), expected);
    if (expected.results.length > 0) compared.found += 1;
  }
  for (const store of STREAM_STORES) {
    for (const search of SEARCHES) {
      const question: Question = { path: '/api/customer/list', query: { search }, storeId: store };
      await compare(store, target(question), model.list('customer', store, { search }));
    }
    await compare(store, '/api/store/info/', model.record('store', store, store));
    await compare(store, '/api/menu/', model.menu(store));
    for (const { path, ids, answer } of records) {
      for (const id of ids) await compare(store, `${path}${id}`, answer(model, store, id));
    }
  }
  return compared;
}
