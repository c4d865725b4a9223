/** Categories, products and option groups. */
import { instantAt, money, pick, type StoreRecord } from './record.ts';

const DISHES = ['Pizza Calabresa', 'Pizza Portuguesa', 'Açaí', 'Esfiha', 'Guaraná', 'Água sem gás'] as const;
const GROUPS = ['Borda', 'Adicionais', 'Tamanho', 'Ponto da carne', 'Bebida', 'Molhos'] as const;

export function categoryRecord(index: number): StoreRecord {
  return {
    entity: 'category',
    id: `k${index}`,
    state: {
      name: `${pick(['Pizzas', 'Bebidas', 'Sobremesas', 'Esfihas', 'Combos'], index)} ${index}`,
      description: 'Feitas no forno a lenha, com massa de fermentação natural',
      position: index,
      active: true,
      image_url: `https://img.example/categorias/${index}.jpg`,
      created_at: instantAt(index),
      updated_at: instantAt(index + 3),
    },
  };
}

export function productRecord(index: number, categories: number, groups: number): StoreRecord {
  const first = (index * 2) % groups;
  return {
    entity: 'product',
    id: `p${index}`,
    state: {
      category_id: `k${index % categories}`,
      name: `${pick(DISHES, index)} ${index}`,
      description: 'Molho de tomate da casa, muçarela, calabresa fatiada, cebola e orégano',
      price: money(1_990 + (index % 4_000)),
      promotional_price: index % 5 === 0 ? money(1_490 + (index % 400)) : null,
      active: index % 20 !== 19,
      position: Math.floor(index / categories),
      image_url: `https://img.example/produtos/${index}.jpg`,
      external_code: `SKU-${index}`,
      ean: `789${String(1_000_000_000 + index)}`,
      serves: 1 + (index % 4),
      option_group_ids: [`g${first}`, `g${(first + 1) % groups}`],
      created_at: instantAt(index),
      updated_at: instantAt(index + 7),
    },
  };
}

export function optionGroupRecord(index: number): StoreRecord {
  return {
    entity: 'option_group',
    id: `g${index}`,
    state: {
      name: `${pick(GROUPS, index)} ${index}`,
      min: 0,
      max: 3,
      price_method: pick(['sum', 'max', 'average'], index),
      position: index % 10,
      external_code: `OG-${index}`,
      options: Array.from({ length: 4 }, (_, option) => ({
        id: `a${index}-${option}`,
        name: pick(['Catupiry', 'Cheddar', 'Sem borda', 'Chocolate'], option),
        description: 'Porção de 80 g',
        price: money(300 + option * 150),
        max_quantity: 2,
        active: (index + option) % 7 !== 0,
        position: option,
        external_code: `OP-${index}-${option}`,
      })),
    },
  };
}
