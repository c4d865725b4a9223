/** Home-style lunch boxes, open at midday. */
import type { Cuisine } from './cuisine.ts';
import { DRINKS } from './drinks.ts';
import { FESTA_JUNINA } from './seasonal.ts';

const SIDES = ['tamanho', 'acompanhamentos'];

export const marmitaria: Cuisine = {
  key: 'marmitaria',
  names: ['Marmitaria {}', 'Tempero {}', 'Cozinha {}'],
  opens: {
    days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'],
    from: '10:30',
    to: '15:00',
  },
  minimumOrder: 1500,
  indoor: false,
  categories: [
    {
      name: 'Marmitas',
      description: 'Comida caseira, pronta em vinte minutos',
      products: [
        {
          name: 'Frango grelhado',
          description: 'Arroz, feijão, salada e frango grelhado',
          price: 2290,
          groups: SIDES,
        },
        {
          name: 'Bife acebolado',
          description: 'Arroz, feijão, farofa e bife acebolado',
          price: 2590,
          groups: SIDES,
        },
        {
          name: 'Feijoada completa',
          description: 'Arroz, couve, farofa, laranja e torresmo',
          price: 3490,
          groups: ['tamanho'],
        },
        { name: 'Strogonoff de frango', description: 'Com arroz e batata palha', price: 2690, groups: SIDES },
        { name: 'Lasanha à bolonhesa', description: 'Porção individual gratinada', price: 2890, serves: 1 },
        {
          name: 'Omelete com salada',
          description: 'Três ovos, queijo minas e tomate',
          price: 1990,
          groups: ['acompanhamentos'],
        },
      ],
    },
    {
      name: 'Sobremesas',
      products: [
        { name: 'Pudim de leite', description: 'Fatia com calda de caramelo', price: 990 },
        { name: 'Doce de leite com queijo', description: 'Queijo minas e doce de leite', price: 1190 },
      ],
    },
    DRINKS,
    FESTA_JUNINA,
  ],
  optionGroups: {
    tamanho: {
      name: 'Tamanho',
      min: 1,
      max: 1,
      priceMethod: 'sum',
      options: [
        ['Pequena', 0],
        ['Média', 400],
        ['Grande', 800, 'Serve duas pessoas'],
      ],
    },
    acompanhamentos: {
      name: 'Acompanhamentos',
      min: 0,
      max: 2,
      priceMethod: 'sum',
      options: [
        ['Ovo frito', 300],
        ['Batata frita', 600],
        ['Salada extra', 400],
        ['Sem feijão', 0],
      ],
    },
  },
};
