{# Classes of fewer than k records: no row, and every record looks like k - 1 others. #}
{% test k_anonymous(model, k, quasi_identifiers) %}
select {{ quasi_identifiers | join(', ') }}, count(*) as records
from {{ model }}
group by {{ quasi_identifiers | join(', ') }}
having count(*) < {{ k }}
{% endtest %}
