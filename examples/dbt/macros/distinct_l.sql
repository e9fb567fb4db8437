{# Classes with fewer than l different sensitive values; a missing value is one. #}
{% test distinct_l(model, column_name, l, quasi_identifiers) %}
select {{ quasi_identifiers | join(', ') }}, count(distinct {{ column_name }}) as different
from {{ model }}
group by {{ quasi_identifiers | join(', ') }}
having count(distinct {{ column_name }})
     + max(case when {{ column_name }} is null then 1 else 0 end) < {{ l }}
{% endtest %}
