/** Reads the metrics of a service: the text format of Prometheus, as far as it is needed here. */

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const SAMPLE = /^(?<name>[a-z_]+)(?:\{(?<labels>[^}]*)\})? (?<value>\S+)$/;
const LABEL = /(?<name>[a-z_]+)="(?<value>[^"]*)"/g;

/** All samples of a scrape. */
export function readSamples(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const { name, labels = '', value } = SAMPLE.exec(line)?.groups ?? {};
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['value'] ?? '',
    ]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}
