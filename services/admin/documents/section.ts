/** A part of a document that a program makes: it lies between two marks, and what is around it is written by hand. */

/** The document with the part replaced. @param name of the marks `<!-- name: begin -->` and `<!-- name: end -->`. */
export function replaceSection(text: string, name: string, markdown: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the document lacks ${begin} … ${end}`);
  return `${before}${begin}\n\n${markdown}\n\n${end}${after}`;
}
