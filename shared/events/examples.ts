/** An event of each entity with an example of its data (`examples.json`), which has every field that publishers know. */
import type { AccessEntity } from './access-event.ts';
import type { EntityName } from './entities/index.ts';
import examples from './examples.json' with { type: 'json' };

/** The event that carries an entity's example. */
export function exampleEvent(entity: EntityName | AccessEntity) {
  const { subject, data } = examples[entity];
  return {
    specversion: '1.0',
    id: '9f0c2c0e-5b1d-4d0a-9c52-0d6a3c6f5a11',
    source: '/pos/s1',
    type: `store-data.${entity}.changed`,
    subject,
    time: '2026-11-20T21:52:40.120Z',
    datacontenttype: 'application/json',
    storeid: 's1',
    sequence: '17',
    data,
  };
}
